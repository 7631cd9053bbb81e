#include "lake/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static char *sandbox_real(const char *path)
{
    char *real = realpath(path, NULL);

    if (real != NULL || errno != ENOENT)
        return real;
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return realpath(".", NULL);
    char *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    real = dir == NULL ? NULL : realpath(dir, NULL);
    free(dir);
    return real;
}

static bool sandbox_contains(const char *root, const char *path)
{
    size_t n = strlen(root);

    if (n == 1)
        return true;
    return strncmp(root, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

lb_status lb_check_sandbox(const char *path, lb_error *err)
{
    const char *root = getenv("BASALTIC_RED_DATA_ROOT");
    lb_status status = LB_OK;

    if (root == NULL || root[0] == '\0')
        root = getenv("BASALTIC_RED_ALLOWED_ROOT");
    if (root == NULL || root[0] == '\0')
        return LB_OK;
    char *real_root = realpath(root, NULL), *real = sandbox_real(path);
    if (real_root == NULL)
        status = lb_fail_errno(err, errno, root, "resolve the sandbox root");
    else if (real != NULL && !sandbox_contains(real_root, real))
        status =
            lb_fail(err, LB_USAGE, LB_NOWHERE, "path traversal denied: this lies outside the sandbox %s", real_root);
    /* A path that cannot be resolved is left to the call that opens it. */
    free(real_root);
    free(real);
    if (status != LB_OK)
        lb_fail_path(err, path);
    return status;
}
