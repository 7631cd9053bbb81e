/* The command lakebed: words in, one verb run, an exit status out. */
#include "cli.h"

#include <locale.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What a signal handler may see: the running context, and which signal came. */
static _Atomic(lb_context *) running;
static volatile sig_atomic_t signalled;
static _Atomic int64_t signalled_ms; /* when the first came; 0: none did */

static int64_t now_ms(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The first signal asks the library to end in order; a second one ends the process at once. timeout(1) and others send one to the
 * process and one more to its group: what comes right behind the first is no second wish. */
static void on_signal(int number)
{
    enum { SAME_WISH_MS = 250 };
    lb_context *cx = atomic_load(&running);
    int64_t now = now_ms(), first = 0;
    if (cx == NULL)
        _exit(EXIT_SIGNAL + number);
    if (atomic_compare_exchange_strong(&signalled_ms, &first, now)) {
        signalled = number;
        lb_context_cancel(cx);
    } else if (now - first >= SAME_WISH_MS) {
        _exit(EXIT_SIGNAL + number);
    }
}

static void catch_signals(void)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESTART };
    struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
    (void)sigemptyset(&action.sa_mask);
    (void)sigemptyset(&ignore.sa_mask);
    (void)sigaction(SIGPIPE, &ignore, NULL); /* a closed pipe is a write that fails */
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(ending[i], &action, NULL);
}

static bool is_terminal(int fd)
{
    return isatty(fd) == 1;
}

static bool colour_on(const cli *c, bool terminal)
{
    const char *when = args_text(c, OPT_COLOR, "auto"), *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return terminal && (no_color == NULL || *no_color == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
}

/* EXT=CHAR, where `\t` and `tab` are a tab. The library judges the rest. */
static int register_delimited(cli *c, const char *text)
{
    lb_error err = LB_ERROR_INIT;
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return report_usage(c, "--delimited takes EXT=CHAR, as log=; or dat=\\t, not \"%s\"", text);
    bool header = true;
    for (size_t i = 0; i < c->args.read_names.count; i++)
        header = header && strcmp(c->args.read_names.items[i], "no-header") != 0;
    const char *delimiter = strcmp(equals + 1, "\\t") == 0 || strcmp(equals + 1, "tab") == 0 ? "\t" : equals + 1;
    char *extension = cli_format("%.*s", (int)(equals - text), text);
    lb_status status = lb_register_delimited(c->cx, extension, delimiter, header, &err);
    free(extension);
    return status == LB_OK ? EXIT_DONE : report_error(c, &err);
}

static int open_context(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_context_options options = { .struct_size = sizeof options,
                                   .threads = (unsigned)args_number(c, OPT_THREADS, 0),
                                   .progress = progress_update,
                                   .note = progress_note,
                                   .user = c };
    if (lb_context_new(&options, &c->cx, &err) != LB_OK)
        return report_error(c, &err);
    int result = EXIT_DONE;
    const cli_list *delimited = &c->args.given[OPT_DELIMITED];
    for (size_t i = 0; i < delimited->count && result == EXIT_DONE; i++)
        result = register_delimited(c, delimited->items[i]);
    return result;
}

static int run(cli *c)
{
    int result = open_context(c);
    atomic_store(&running, c->cx);
    if (result == EXIT_DONE)
        result = cli_verb_at(c->args.verb)->run(c);
    if (result == EXIT_DONE && c->left_out)
        result = EXIT_FINDING;
    atomic_store(&running, NULL);
    progress_end(c);
    if (signalled != 0 && result != EXIT_DONE && result != EXIT_FINDING)
        result = EXIT_SIGNAL + signalled;
    return out_finish(c, result);
}

/* Batches are made by one thread and freed by another. glibc gives the memory of every large one back to the kernel, which clears it
 * again for the next: with two threads that was a fifth of the time of reading. So memory is kept, up to what a batch or two takes. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

int main(int count, char **words)
{
    keep_memory();
    cli c = { .out_terminal = is_terminal(STDOUT_FILENO) };
    int status = EXIT_DONE;
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* widths of characters; files do not depend on it */
    progress_init(&c, false);
    catch_signals();
    if (count > 1 && strcmp(words[1], "__complete") == 0)
        return out_finish(&c, complete_words(count - 2, words + 2));
    if (args_parse(&c, count > 0 ? count - 1 : 0, words + 1, &status)) {
        c.out_colour = colour_on(&c, c.out_terminal);
        c.err_colour = colour_on(&c, is_terminal(STDERR_FILENO));
        c.progress.on = is_terminal(STDERR_FILENO) && !args_has(&c, OPT_QUIET);
        status = run(&c);
    }
    lb_context_free(c.cx);
    args_free(&c.args);
    return status;
}
