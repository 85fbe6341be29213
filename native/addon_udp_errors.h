// A UDP socket's error queue as a JavaScript class; included by addon.cc alone.
#pragma once

#include <errno.h>
#include <napi.h>

#include <string>

#include "udp_errors.h"

namespace dsbc {

class UdpErrorsHandle : public Napi::ObjectWrap<UdpErrorsHandle> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "UdpErrors",
                       {InstanceMethod("open", &UdpErrorsHandle::Open), InstanceMethod("adopted", &UdpErrorsHandle::Adopted),
                        InstanceMethod("read", &UdpErrorsHandle::Read), InstanceMethod("close", &UdpErrorsHandle::Close)});
  }

  explicit UdpErrorsHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<UdpErrorsHandle>(info) {}

 private:
  // Reports taken by one call: what an attacker sends must not hold up the event loop.
  static constexpr uint32_t kAtOnce = 64;

  // open(address, port): the socket's descriptor, or an errno as a negative number
  Napi::Value Open(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    if (info.Length() < 2 || !info[0].IsString() || !info[1].IsNumber()) {
      Napi::TypeError::New(env, "expected (address: string, port: number)").ThrowAsJavaScriptException();
      return env.Undefined();
    }
    const double port = info[1].As<Napi::Number>().DoubleValue();
    if (!(port >= 0 && port <= UINT16_MAX)) return Napi::Number::New(env, -EINVAL);
    int fd = -1;
    const int error = errors_.Open(info[0].As<Napi::String>(), static_cast<uint16_t>(port), &fd);
    return Napi::Number::New(env, error == 0 ? fd : -error);
  }

  // adopted(): errno
  Napi::Value Adopted(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), errors_.Adopted()); }

  // read(): [{address, port, error, origin, type, code, quote}], the oldest first. If there are 64 there may be more, which
  // no longer stand in the way of a send, and of which libuv will not tell.
  Napi::Value Read(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    Napi::Array list = Napi::Array::New(env);
    UdpError error;
    uint32_t at = 0;
    for (; at < kAtOnce && errors_.Read(&error) == 0; at++) {
      Napi::Object object = Napi::Object::New(env);
      object.Set("address", error.address);
      object.Set("port", error.port);
      object.Set("error", error.error);
      object.Set("origin", error.origin);
      object.Set("type", error.type);
      object.Set("code", error.code);
      napi_value quote = nullptr;
      if (napi_create_string_latin1(env, error.quote.data(), error.quoted, &quote) != napi_ok) break;
      object.Set("quote", quote);
      list.Set(at, object);
    }
    if (at == kAtOnce) errors_.Unblock();
    return list;
  }

  // close(): closes the descriptor that reports are read by. Idempotent.
  Napi::Value Close(const Napi::CallbackInfo& info) {
    errors_.Close();
    return info.Env().Undefined();
  }

  UdpErrors errors_;
};

}  // namespace dsbc
