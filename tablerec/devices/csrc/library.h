// Opens a shared library when it is first needed.
#pragma once
#include <dlfcn.h>

#include <cstdlib>

#include "backend.h"

namespace tablerec {

// `variable` of the environment may name another file; `wheel` holds the library.
inline void* open_library(const char* variable, const char* file, const char* wanted_by,
                          const char* wheel = "nvidia-cudnn-cu13") {
  const char* named = getenv(variable);
  if (named && *named) file = named;
  void* library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  PADDLE_ENFORCE_EQ(library != nullptr, true,
                    common::errors::Unavailable("%s on %s needs %s, which cannot be opened (%s). Install NVIDIA's wheel %s, "
                                                "set LD_LIBRARY_PATH, or name the file in %s.",
                                                wanted_by, device_name(), file, dlerror(), wheel, variable));
  return library;
}
template <class F> F* find_function(void* library, const char* name) {
  void* found = dlsym(library, name);
  PADDLE_ENFORCE_EQ(found != nullptr, true, common::errors::Unavailable("%s is missing: %s", name, dlerror()));
  return reinterpret_cast<F*>(found);
}
#define LIBRARY_FUNCTION(name) decltype(::name)* name = find_function<decltype(::name)>(library, #name)

}  // namespace tablerec
