/* The command components (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "pipeline/life/runtime.h"

#include <stdio.h>

enum { LIST_MAX = 4 << 20 };

int components_command(void)
{
    struct bytes list;
    bytes_init(&list, LIST_MAX, NULL);
    components_list(&list);
    fwrite(list.data, 1, list.size, stdout);
    bytes_release(&list);
    return EXIT_OK;
}
