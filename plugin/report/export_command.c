// `sprag export`: a recording for other programs.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "export.h"
#include "report_cli.h"
#include "say.h"

static const char help[] =
    "Usage: sprag export RECORDING [--csv DIRECTORY] [--gltf FILE.glb] [--count]\n"
    "\n"
    "Writes a recording of `sprag exec --record` or `sprag run --record` for other programs.\n"
    "\n"
    "      --csv DIRECTORY   a CSV file for each table: steps, poses, contacts, joints, events,\n"
    "                        bodies, shapes, vertices, triangles\n"
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
    static const struct option long_options[] = {{"help", no_argument, NULL, 'h'},
                                                 {"csv", required_argument, NULL, 'c'},
                                                 {"gltf", required_argument, NULL, 'g'},
                                                 {"count", no_argument, NULL, 'n'},
                                                 {0}};
    const char *csv = NULL, *gltf = NULL;
    char message[REPORT_MESSAGE];
    bool count = false;
    for (int found; (found = getopt_long(argc, argv, ":h", long_options, NULL)) != -1;) {
        switch (found) {
        case 'h':
            fputs(help, stdout);
            return EXIT_SUCCESS;
        case 'c':
            csv = optarg;
            break;
        case 'g':
            gltf = optarg;
            break;
        case 'n':
            count = true;
            break;
        default:
            return cli_bad_option(found, argv);
        }
    }
    if (optind + 1 != argc || !(csv || gltf || count)) {
        return cli_fail(EXIT_USAGE, "export takes one recording and --csv, --gltf or --count; see "
                                    "sprag export --help");
    }
    if (!cli_names_file("csv", csv) || !cli_names_file("gltf", gltf)) {
        return EXIT_USAGE;
    }
    const char *recording = argv[optind];
    if ((gltf || (csv && count)) && !cli_can_read_again(recording)) {
        return EXIT_FAILURE;
    }
    const char *end = NULL;
    if ((csv && !export_csv(recording, csv, &end, message)) ||
        (gltf && !export_gltf(recording, gltf, &end, message)) ||
        (count && !print_count(recording, &end, message))) {
        return cli_fail(EXIT_FAILURE, "%s", message);
    }
    cli_note_end(recording, end);
    return EXIT_SUCCESS;
}
