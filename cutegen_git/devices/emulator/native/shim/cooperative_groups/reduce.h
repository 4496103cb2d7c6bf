// Everything is in the one header.
#pragma once
#include "../cooperative_groups.h"
