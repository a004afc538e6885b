#include "cluster/fault.h"

const char *mot_fault_name(enum mot_fault_kind kind)
{
    switch (kind) {
    case MOT_FAULT_CRASH: return "crash";
    case MOT_FAULT_RESTART: return "restart";
    case MOT_FAULT_STALL: return "stall";
    case MOT_FAULT_PARTITION: return "partition";
    case MOT_FAULT_SLOW_LINK: return "slow-link";
    case MOT_FAULT_DROP: return "drop";
    case MOT_FAULT_DUPLICATE: return "duplicate";
    case MOT_FAULT_REORDER: return "reorder";
    case MOT_FAULT_CORRUPT: return "corrupt";
    case MOT_FAULT_POISON: return "poison";
    }
    return "fault";
}

bool mot_fault_hits(const struct mot_fault *f, uint32_t workers, mot_node node)
{
    if (f->workers.n == 0 && !f->server) return true;
    if (node >= workers) return f->server;
    for (uint32_t i = 0; i < f->workers.n; i++)
        if (f->workers.v[i] == node) return true;
    return false;
}
