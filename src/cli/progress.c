/* The line on standard error that shows how far a long call is, and notes that come meanwhile. The library calls
 * from any of its threads, so a lock keeps the line and the notes apart. */
#include "cli.h"

#include <stdlib.h>
#include <time.h>

enum { PROGRESS_DELAY_MS = 300 }; /* what ends sooner needs no line */

double clock_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_init(cli *c, bool on)
{
    (void)pthread_mutex_init(&c->progress.lock, NULL);
    c->progress.on = on;
    c->progress.started = clock_seconds();
}

static void progress_erase(cli *c)
{
    if (c->progress.drawn)
        (void)fputs("\r\033[K", stderr);
    c->progress.drawn = false;
}

static void progress_draw(uint64_t done, uint64_t total, uint64_t files, uint64_t total_files, double seconds)
{
    double rate = seconds > 0 ? (double)done / seconds : 0;
    (void)fputs("\r", stderr);
    if (total > 0)
        (void)fprintf(stderr, "%3.0f%%  ", 100.0 * (double)(done < total ? done : total) / (double)total);
    if (total_files > 0)
        (void)fprintf(stderr, "%s of %s  ", number_text(files).s, plural_text(total_files, "file", "files").s);
    (void)fprintf(stderr, "%s  %s/s", size_text(done).s, size_text((uint64_t)rate).s);
    if (total > done && rate > 0) {
        double left = (double)(total - done) / rate;
        if (left < 360000)
            (void)fprintf(stderr, "  %d:%02d left", (int)left / 60, (int)left % 60);
    }
    (void)fputs("\033[K", stderr);
    (void)fflush(stderr);
}

void progress_update(void *user, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files)
{
    cli *c = user;
    (void)pthread_mutex_lock(&c->progress.lock);
    double seconds = clock_seconds() - c->progress.started;
    if (c->progress.on && seconds * 1000 >= PROGRESS_DELAY_MS) {
        progress_draw(done, total, files, total_files, seconds);
        c->progress.drawn = true;
    }
    (void)pthread_mutex_unlock(&c->progress.lock);
}

void progress_note(void *user, const char *note)
{
    cli *c = user;
    if (args_has(c, OPT_QUIET))
        return;
    char *clean = clean_text(note);
    (void)pthread_mutex_lock(&c->progress.lock);
    progress_erase(c);
    (void)fprintf(stderr, "lakebed: note: %s\n", clean);
    (void)pthread_mutex_unlock(&c->progress.lock);
    free(clean);
}

void progress_clear(cli *c)
{
    (void)pthread_mutex_lock(&c->progress.lock);
    progress_erase(c);
    (void)fflush(stderr);
    (void)pthread_mutex_unlock(&c->progress.lock);
}

void progress_end(cli *c)
{
    progress_clear(c);
    (void)pthread_mutex_lock(&c->progress.lock);
    c->progress.on = false;
    (void)pthread_mutex_unlock(&c->progress.lock);
}
