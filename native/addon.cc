// The only file that knows Node-API, with addon_network.h which it includes. JavaScript has validated what it passes; it is checked again here, since a wrong
// call must never be more than a TypeError. Functions that can fail return 0 or an errno.
#include <napi.h>

#include "boot_clock.h"

#ifdef DSBC_HAS_NETWORK
#include "addon_network.h"
#endif

namespace {

Napi::Value BootTime(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), dsbc::BootTimeMs()); }

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("bootTime", Napi::Function::New(env, BootTime, "bootTime"));
#ifdef DSBC_HAS_NETWORK
  exports.Set("Network", dsbc::NetworkHandle::Define(env));
#endif
  return exports;
}

}  // namespace

NODE_API_MODULE(dsbc, Init)
