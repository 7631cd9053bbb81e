/* Standard output: what fails there is remembered once and told at the end. */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool out_write(void *user, const void *bytes, size_t size)
{
    cli *c = user;
    if (c->out_error != 0)
        return false;
    errno = 0;
    if (fwrite(bytes, 1, size, stdout) == size)
        return true;
    c->out_error = errno != 0 ? errno : EIO;
    return false;
}

/* A write failed before, and the reason is gone: was it that nobody reads any more? */
static int lost_reason(void)
{
    struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR) != 0 ? EPIPE : EIO;
}

int out_finish(cli *c, int status)
{
    errno = 0;
    bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && c->out_error == 0)
        c->out_error = errno != 0 ? errno : lost_reason();
    if (c->out_error == 0)
        return status;
    if (c->out_error == EPIPE)
        return EXIT_DONE;
    report_line(c, "standard output: %s", strerror(c->out_error));
    return EXIT_SYSTEM;
}

unsigned out_width(void)
{
    struct winsize size = { 0 };
    uint64_t columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *text = getenv("COLUMNS");
    return text != NULL && args_parse_number(text, &columns) && columns <= 10000 ? (unsigned)columns : 0;
}
