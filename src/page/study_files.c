/* study_files.c -- the files that show a study, beside its document. */
#include "base/file.h"
#include "base/memory.h"
#include "page/page.h"
#include <stdlib.h>

static enum mot_status write_table(const json_t *document, const char *path)
{
    struct mot_replace file;
    enum mot_status status = mot_replace_begin(path, &file);
    if (status != MOT_OK) return status;
    mot_study_table(document, file.out, MOT_TABLE_COLUMNS, false);
    return mot_replace_commit(&file);
}

enum mot_status mot_study_show(const json_t *document, const char *folder, const char *csv)
{
    char *table = mot_path_join(folder, "table.txt"), *page = mot_path_join(folder, "report.html");
    enum mot_status status = write_table(document, table);
    if (status == MOT_OK) status = mot_page_write(document, page);
    if (status == MOT_OK && csv) status = mot_csv_write(document, csv);
    free(page);
    free(table);
    return status;
}
