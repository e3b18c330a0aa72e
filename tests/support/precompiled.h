#pragma once

// What most tests include; see base/precompiled.h.

#include <doctest/doctest.h>

#include "base/precompiled.h"
