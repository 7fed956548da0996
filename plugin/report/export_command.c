// `sprag export`: a recording for other programs.
#include <stdio.h>
#include <stdlib.h>

#include "arguments.h"
#include "export.h"
#include "report_cli.h"
#include "say.h"

static const char help[] =
    "Usage: sprag export RECORDING [--csv DIRECTORY] [--gltf FILE.glb] [--count]\n"
    "\n"
    "Writes a recording of `sprag exec --record` or `sprag run --record` for other programs.\n"
    "\n"
    "      --csv DIRECTORY   a CSV file for each table: steps, poses, contacts, joints, events,\n"
    "                        bodies, shapes, vertices, triangles, measures\n"
    "      --gltf FILE.glb   a glTF 2.0 animation, for Blender and most viewers of 3-D models;\n"
    "                        several worlds stand side by side\n"
    "      --count           prints the number of steps\n"
    "  -h, --help            this text\n"
    "\n"
    "Of a run that was killed, the whole steps are taken. A pipe is read as it is written, by one\n"
    "of --csv and --count.\n";

static bool print_count(const char *recording, const char **end, char message[REPORT_MESSAGE])
{
    long count = export_count(recording, end, message);
    if (count >= 0) {
        printf("%ld\n", count);
    }
    return count >= 0;
}

int cli_export(int argc, char **argv)
{
    const char *csv = NULL, *gltf = NULL, *end = NULL;
    char message[REPORT_MESSAGE];
    bool count = false;
    const argument all[] = {{"csv", 0, ARGUMENT_FILE, .to = &csv},
                            {"gltf", 0, ARGUMENT_FILE, .to = &gltf},
                            {"count", 0, ARGUMENT_FLAG, .to = &count},
                            {0}};
    int code = arguments_read(all, argc, argv, help, false);
    if (code >= 0) {
        return code;
    }
    if (optind + 1 != argc || !(csv || gltf || count)) {
        return cli_fail(EXIT_USAGE, "export takes one recording and --csv, --gltf or --count; see "
                                    "sprag export --help");
    }
    const char *recording = argv[optind];
    if ((gltf || (csv && count)) && !cli_can_read_again(recording)) {
        return EXIT_FAILURE;
    }
    if ((csv && !export_csv(recording, csv, &end, message)) ||
        (gltf && !export_gltf(recording, gltf, &end, message)) ||
        (count && !print_count(recording, &end, message))) {
        return cli_fail(EXIT_FAILURE, "%s", message);
    }
    cli_note_end(recording, end);
    return EXIT_SUCCESS;
}
