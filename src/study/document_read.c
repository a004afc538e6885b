/* document_read.c -- finding things in a study's document. */
#include "report/json.h"
#include "study/document.h"
#include <math.h>

const char *mot_document_name(const json_t *document, const char *list, size_t i)
{
    return mot_json_get_text(json_array_get(mot_json_get_list(document, list), i), "name");
}

const json_t *mot_document_cell(const json_t *document, size_t arm, size_t condition)
{
    size_t i;
    json_t *cell;
    json_array_foreach(
        mot_json_get_list(document, "cells"), i, cell) if (mot_json_get_count(cell, "arm") == arm &&
        mot_json_get_count(cell, "condition") == condition) return cell;
    return NULL;
}

const json_t *mot_cell_figure(const json_t *cell, const char *figure)
{
    const json_t *interval = json_object_get(json_object_get(cell, "figures"), figure);
    return json_is_object(interval) && mot_json_get_count(interval, "n") > 0 ? interval : NULL;
}

const json_t *mot_cell_against(const json_t *cell, const char *figure)
{
    const json_t *comparison = json_object_get(json_object_get(cell, "against"), figure);
    return json_is_object(comparison) ? comparison : NULL;
}

const struct mot_figure_kind *mot_document_judge(const json_t *document)
{
    return mot_figure_kind(mot_json_get_text(document, "judged_by"));
}

bool mot_document_better(
    const json_t *document, const struct mot_figure_kind *kind, size_t condition, size_t arm, size_t than)
{
    double mine = mot_json_get_number(
               mot_cell_figure(mot_document_cell(document, arm, condition), kind->name), "median"),
           other = mot_json_get_number(
               mot_cell_figure(mot_document_cell(document, than, condition), kind->name), "median");
    if (isnan(mine) || isnan(other)) return !isnan(mine);
    return kind->sense == MOT_SENSE_MORE ? mine > other : mine < other;
}
