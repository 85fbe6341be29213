// The only file that knows Node-API, with addon_network.h and addon_udp_errors.h which it includes. JavaScript has validated
// what it passes; it is checked again here, since a wrong call must never be more than a TypeError. Functions that can fail
// return 0 or an errno.
#include <napi.h>

#include <memory>

#include "boot_clock.h"
#include "sip_header.h"
#include "sip_layout.h"

#ifdef DSBC_HAS_NETWORK
#include "addon_network.h"
#include "addon_udp_errors.h"
#endif

namespace {

Napi::Value BootTime(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), dsbc::BootTimeMs()); }

// A table that scans are written to, and the memory they are made in, which all scanners of the environment share.
struct Scanner {
  std::shared_ptr<dsbc::ScanBuffer> buffer;
  int32_t* table = nullptr;
  size_t table_size = 0;
  // Of the table's memory, which it keeps alive.
  napi_ref memory = nullptr;
};

napi_value Refuse(napi_env env, const char* reason) {
  napi_throw_type_error(env, nullptr, reason);
  return nullptr;
}

// (text: string): number of the table used. Called once per message, so it goes without the C++ wrapper, and what can be
// found out once about the table is.
napi_value Scan(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value text;
  void* data = nullptr;
  if (napi_get_cb_info(env, info, &count, &text, nullptr, &data) != napi_ok) return Refuse(env, "expected (text: string)");
  const auto& scanner = *static_cast<const Scanner*>(data);
  // Memory that was given away is another thread's.
  napi_value memory = nullptr;
  bool is_detached = true;
  if (napi_get_reference_value(env, scanner.memory, &memory) != napi_ok ||
      napi_is_detached_arraybuffer(env, memory, &is_detached) != napi_ok || is_detached) {
    return Refuse(env, "the table's memory is detached");
  }
  dsbc::ScanBuffer& buffer = *scanner.buffer;
  size_t size = 0;
  // A NUL is written behind the text.
  if (napi_get_value_string_latin1(env, text, buffer.bytes(), buffer.size() + 1, &size) != napi_ok) {
    return Refuse(env, "expected a string");
  }
  if (size >= buffer.size()) {
    // It may have been cut: ask for its length, make room, read again.
    napi_get_value_string_latin1(env, text, nullptr, 0, &size);
    if (size > dsbc::ScanBuffer::kMaxSize) return Refuse(env, "the text is too long");
    buffer.Reserve(size);
    napi_get_value_string_latin1(env, text, buffer.bytes(), buffer.size() + 1, &size);
  }
  napi_value used = nullptr;
  napi_create_int32(env, dsbc::ScanMessage(buffer, size, scanner.table, scanner.table_size), &used);
  return used;
}

// scannerFor(table: Int32Array): (text: string) => number. Binds a scanner to its table.
napi_value ScannerFor(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value array;
  void* shared = nullptr;
  napi_typedarray_type type = napi_uint8_array;
  size_t size = 0;
  void* table = nullptr;
  napi_value memory;
  if (napi_get_cb_info(env, info, &count, &array, nullptr, &shared) != napi_ok ||
      napi_get_typedarray_info(env, array, &type, &size, &table, &memory, nullptr) != napi_ok || type != napi_int32_array ||
      table == nullptr || size < dsbc::layout::kHeadSize) {
    return Refuse(env, "expected an Int32Array with room for the head");
  }
  bool is_own = false;  // not shared with another thread, and not one whose memory can shrink
  napi_value resizable = nullptr;
  bool can_shrink = false;
  if (napi_is_arraybuffer(env, memory, &is_own) != napi_ok || !is_own) return Refuse(env, "expected memory that is not shared");
  if (napi_get_named_property(env, memory, "resizable", &resizable) == napi_ok &&
      napi_get_value_bool(env, resizable, &can_shrink) == napi_ok && can_shrink) {
    return Refuse(env, "expected memory of a fixed size");
  }
  auto scanner = std::make_unique<Scanner>();
  scanner->buffer = *static_cast<std::shared_ptr<dsbc::ScanBuffer>*>(shared);
  scanner->table = static_cast<int32_t*>(table);
  scanner->table_size = size;
  napi_value scan = nullptr;
  if (napi_create_reference(env, memory, 1, &scanner->memory) != napi_ok ||
      napi_create_function(env, "scan", NAPI_AUTO_LENGTH, Scan, scanner.get(), &scan) != napi_ok) {
    return Refuse(env, "no scanner could be made");
  }
  const auto end = [](napi_env at, void* data, void*) {
    const std::unique_ptr<Scanner> ended(static_cast<Scanner*>(data));
    napi_delete_reference(at, ended->memory);
  };
  napi_add_finalizer(env, scan, scanner.release(), end, nullptr, nullptr);
  return scan;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  auto* buffer = new std::shared_ptr<dsbc::ScanBuffer>(std::make_shared<dsbc::ScanBuffer>());
  napi_value scanner_for = nullptr;
  napi_create_function(env, "scannerFor", NAPI_AUTO_LENGTH, ScannerFor, buffer, &scanner_for);
  napi_add_env_cleanup_hook(env, [](void* data) { delete static_cast<std::shared_ptr<dsbc::ScanBuffer>*>(data); }, buffer);
  exports.Set("scannerFor", scanner_for);
  exports.Set("bootTime", Napi::Function::New(env, BootTime, "bootTime"));
#ifdef DSBC_HAS_NETWORK
  exports.Set("Network", dsbc::NetworkHandle::Define(env));
  exports.Set("UdpErrors", dsbc::UdpErrorsHandle::Define(env));
#endif
  return exports;
}

}  // namespace

NODE_API_MODULE(dsbc, Init)
