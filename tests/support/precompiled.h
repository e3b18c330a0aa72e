#pragma once

// The headers that most tests include; see base/precompiled.h.

#include <doctest/doctest.h>

#include "base/precompiled.h"
