/* Runs a fuzz target once over every file of the folders named, without libFuzzer. Each input lies in a piece of heap
 * of its exact size, so that a sanitizer sees the first byte read beyond it. The empty input always comes first. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static bool replay_bytes(FILE *file, size_t size)
{
    uint8_t *bytes = malloc(size == 0 ? 1 : size);
    if (bytes == NULL)
        return false;
    bool whole = fread(bytes, 1, size, file) == size;
    if (whole)
        (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return whole;
}

static bool replay_file(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    bool good = file != NULL && fstat(fileno(file), &info) == 0 && info.st_size >= 0;
    if (good && S_ISREG(info.st_mode))
        good = replay_bytes(file, (size_t)info.st_size);
    if (!good)
        (void)fprintf(stderr, "%s: cannot be read\n", path);
    if (file != NULL)
        (void)fclose(file);
    return good;
}

static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* All files of a folder in the order of their names. Returns how many, or -1. */
static int replay_folder(const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, keep_visible, alphasort);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        good = good && length > 0 && (size_t)length < sizeof path && replay_file(path);
        free(entries[i]);
    }
    free(entries);
    return good ? count : -1;
}

int main(int argc, char **argv)
{
    static const uint8_t nothing[1];
    int inputs = 1;
    if (LLVMFuzzerInitialize != NULL)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    (void)LLVMFuzzerTestOneInput(nothing, 0);
    for (int i = 1; i < argc; i++) {
        int count = replay_folder(argv[i]);
        if (count < 0) {
            (void)fprintf(stderr, "%s: the corpus cannot be read\n", argv[i]);
            return 1;
        }
        inputs += count;
    }
    (void)printf("%d inputs\n", inputs);
    return 0;
}
