/* Runs a fuzz target over the files of a corpus folder, without a fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return 1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc((size_t)size + 1);
    size_t got = data ? fread(data, 1, (size_t)size, file) : 0;
    fclose(file);
    /* An exact allocation, so that a sanitizer sees one byte too far. */
    uint8_t *exact = malloc(got ? got : 1);
    for (size_t i = 0; exact && i < got; i++)
        exact[i] = data[i];
    free(data);
    if (exact)
        LLVMFuzzerTestOneInput(exact, got);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    int failed = 0, files = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            failed |= replay(argv[1], entry->d_name);
            files++;
        }
    closedir(folder);
    printf("%d files replayed\n", files);
    return failed || files == 0;
}
