// The only file that knows Node-API, with addon_network.h which it includes. JavaScript has validated what it passes; it is checked again here, since a wrong
// call must never be more than a TypeError. Functions that can fail return 0 or an errno.
#include <napi.h>

#include <memory>

#include "boot_clock.h"
#include "sip_header.h"
#include "sip_layout.h"

#ifdef DSBC_HAS_NETWORK
#include "addon_network.h"
#endif

namespace {

Napi::Value BootTime(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), dsbc::BootTimeMs()); }

// Bytes of the message being scanned: one buffer per environment, larger only after a message that needs it.
struct ScanBuffer {
  std::unique_ptr<char[]> bytes{new char[64 * 1024]};
  size_t size = 64 * 1024;
};

// scan(text: string, out: Int32Array): number of `out` used. Called once per message, so it goes without the C++ wrapper.
napi_value Scan(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  void* data = nullptr;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, &data) != napi_ok || count < 2) {
    napi_throw_type_error(env, nullptr, "expected (text: string, out: Int32Array)");
    return nullptr;
  }
  napi_typedarray_type type = napi_uint8_array;
  size_t out_size = 0;
  void* out = nullptr;
  if (napi_get_typedarray_info(env, arguments[1], &type, &out_size, &out, nullptr, nullptr) != napi_ok ||
      type != napi_int32_array || out == nullptr || out_size < dsbc::layout::kHeadSize) {
    napi_throw_type_error(env, nullptr, "expected an Int32Array with room for the head");
    return nullptr;
  }
  auto* buffer = static_cast<ScanBuffer*>(data);
  size_t size = 0;
  if (napi_get_value_string_latin1(env, arguments[0], buffer->bytes.get(), buffer->size, &size) != napi_ok) {
    napi_throw_type_error(env, nullptr, "expected a string");
    return nullptr;
  }
  if (size + 1 >= buffer->size) {
    // It may have been cut: ask for its length, make room for it and the NUL, read again.
    napi_get_value_string_latin1(env, arguments[0], nullptr, 0, &size);
    if (size + 1 > buffer->size) {
      buffer->size = size + 1;
      buffer->bytes.reset(new char[buffer->size]);
    }
    napi_get_value_string_latin1(env, arguments[0], buffer->bytes.get(), buffer->size, &size);
  }
  napi_value used = nullptr;
  napi_create_int32(env, dsbc::ScanMessage(buffer->bytes.get(), size, static_cast<int32_t*>(out), out_size), &used);
  return used;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  auto* buffer = new ScanBuffer;
  napi_value scan = nullptr;
  napi_create_function(env, "scan", NAPI_AUTO_LENGTH, Scan, buffer, &scan);
  napi_add_env_cleanup_hook(env, [](void* data) { delete static_cast<ScanBuffer*>(data); }, buffer);
  exports.Set("scan", scan);
  exports.Set("bootTime", Napi::Function::New(env, BootTime, "bootTime"));
#ifdef DSBC_HAS_NETWORK
  exports.Set("Network", dsbc::NetworkHandle::Define(env));
#endif
  return exports;
}

}  // namespace

NODE_API_MODULE(dsbc, Init)
