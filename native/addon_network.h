// The network part as a JavaScript class; included by addon.cc alone.
#pragma once

#include <errno.h>
#include <napi.h>
#include <uv.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "garp.h"
#include "rtnetlink.h"

namespace dsbc {

inline Napi::Value Errno(Napi::Env env, int error) { return Napi::Number::New(env, error); }

inline Napi::String HardwareText(Napi::Env env, const Hardware& hardware) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", hardware[0], hardware[1], hardware[2], hardware[3],
                hardware[4], hardware[5]);
  return Napi::String::New(env, text);
}

inline Napi::Object LinkObject(Napi::Env env, const Link& link) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("index", link.index);
  object.Set("name", link.name);
  object.Set("up", link.up);
  object.Set("carrier", link.carrier);
  object.Set("ethernet", link.ethernet);
  object.Set("hardware", HardwareText(env, link.hardware));
  return object;
}

// Waits on the event sockets in libuv's loop and hands what they say to one JavaScript function. Lives until its three
// handles are closed, which the loop does after Close; a worker that ends is held up until then.
class Watch : public std::enable_shared_from_this<Watch> {
 public:
  static std::shared_ptr<Watch> Open(Napi::Env env, Napi::Function listener, int* error) {
    std::shared_ptr<Watch> watch(new Watch(env));
    *error = watch->events_.Open();
    if (*error == 0) *error = watch->claims_.Open();
    if (*error == 0) *error = watch->Start();
    if (*error != 0) {
      watch->Close();
      return nullptr;
    }
    watch->listener_ = Napi::Persistent(listener);
    return watch;
  }

  void Close() {
    if (closed_) return;
    closed_ = true;
    listener_.Reset();
    for (int i = 0; i < started_; i++) {
      uv_poll_stop(&polls_[i]);
      polls_[i].data = new std::shared_ptr<Watch>(shared_from_this());
      uv_close(reinterpret_cast<uv_handle_t*>(&polls_[i]), [](uv_handle_t* handle) {
        auto* self = static_cast<std::shared_ptr<Watch>*>(handle->data);
        if (++(*self)->ended_ == (*self)->started_) (*self)->Ended();
        delete self;
      });
    }
    if (started_ == 0) Ended();
  }

 private:
  explicit Watch(Napi::Env env) : env_(env) {}

  int Start() {
    uv_loop_t* loop = nullptr;
    if (napi_get_uv_event_loop(env_, &loop) != napi_ok) return EINVAL;
    for (const int fd : {events_.fd(), claims_.arp_fd(), claims_.nd_fd()}) {
      const int error = uv_poll_init(loop, &polls_[started_], fd);
      if (error != 0) return -error;
      polls_[started_].data = this;
      uv_poll_start(&polls_[started_++], UV_READABLE, [](uv_poll_t* poll, int, int) {
        static_cast<Watch*>(poll->data)->Readable();
      });
    }
    napi_add_async_cleanup_hook(
        env_, [](napi_async_cleanup_hook_handle, void* self) { static_cast<Watch*>(self)->Close(); }, this, &cleanup_);
    return 0;
  }

  void Ended() {
    events_.Close();
    claims_.Close();
    if (cleanup_ != nullptr) napi_remove_async_cleanup_hook(cleanup_);
    cleanup_ = nullptr;
  }

  void Readable() {
    if (closed_) return;
    Napi::HandleScope scope(env_);
    std::vector<NetlinkEvent> events;
    std::vector<NeighbourClaim> claims;
    events_.Read(&events);
    claims_.Read(&claims);
    if (events.empty() && claims.empty()) return;
    Napi::Array list = Napi::Array::New(env_);
    uint32_t at = 0;
    for (const NetlinkEvent& event : events) list.Set(at++, EventObject(event));
    for (const NeighbourClaim& claim : claims) {
      Napi::Object object = Napi::Object::New(env_);
      object.Set("type", "claim");
      object.Set("index", claim.interface_index);
      object.Set("address", claim.address.Text());
      object.Set("hardware", HardwareText(env_, claim.hardware));
      list.Set(at++, object);
    }
    const auto keep = shared_from_this();  // the listener may close us
    listener_.MakeCallback(env_.Global(), {list});
    if (env_.IsExceptionPending()) napi_fatal_exception(env_, env_.GetAndClearPendingException().Value());
  }

  Napi::Object EventObject(const NetlinkEvent& event) {
    Napi::Object object = Napi::Object::New(env_);
    if (event.kind == NetlinkEvent::Kind::kLost) {
      object.Set("type", "lost");
    } else if (event.kind == NetlinkEvent::Kind::kLink) {
      object.Set("type", "link");
      object.Set("gone", event.gone);
      object.Set("link", LinkObject(env_, event.link));
    } else {
      object.Set("type", "address");
      object.Set("gone", event.gone);
      object.Set("index", event.address.interface_index);
      object.Set("address", event.address.address.Text());
      object.Set("prefix", event.address.prefix);
    }
    return object;
  }

  Napi::Env env_;
  Napi::FunctionReference listener_;
  NetlinkEvents events_;
  NeighbourClaims claims_;
  uv_poll_t polls_[3];
  int started_ = 0;
  int ended_ = 0;
  bool closed_ = false;
  napi_async_cleanup_hook_handle cleanup_ = nullptr;
};

class NetworkHandle : public Napi::ObjectWrap<NetworkHandle> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Network",
                       {InstanceMethod("open", &NetworkHandle::Open), InstanceMethod("add", &NetworkHandle::Add),
                        InstanceMethod("remove", &NetworkHandle::Remove), InstanceMethod("deafen", &NetworkHandle::Deafen),
                        InstanceMethod("addresses", &NetworkHandle::Addresses),
                        InstanceMethod("links", &NetworkHandle::Links), InstanceMethod("announce", &NetworkHandle::Announce),
                        InstanceMethod("watch", &NetworkHandle::StartWatch), InstanceMethod("close", &NetworkHandle::CloseAll)});
  }

  explicit NetworkHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<NetworkHandle>(info) {}
  ~NetworkHandle() override {
    if (watch_) watch_->Close();
  }

 private:
  // open(): errno
  Napi::Value Open(const Napi::CallbackInfo& info) {
    int error = netlink_.Open();
    if (error == 0) error = announcer_.Open();
    return Errno(info.Env(), error);
  }

  // Reads the arguments (interface, address); false after throwing a TypeError, or with *error set.
  bool ReadTarget(const Napi::CallbackInfo& info, Link* link, IpAddress* address, int* error) {
    if (info.Length() < 2 || !info[0].IsString() || !info[1].IsString()) {
      Napi::TypeError::New(info.Env(), "expected (interface: string, address: string, …)").ThrowAsJavaScriptException();
      return false;
    }
    if (!IpAddress::Parse(info[1].As<Napi::String>(), address)) {
      *error = EINVAL;
      return false;
    }
    *error = netlink_.FindLink(info[0].As<Napi::String>(), link);
    return *error == 0;
  }

  // add(interface, address, seconds, preferred seconds = seconds): errno
  Napi::Value Add(const Napi::CallbackInfo& info) {
    Link link;
    IpAddress address;
    int error = 0;
    if (!ReadTarget(info, &link, &address, &error)) return Errno(info.Env(), error);
    if (info.Length() < 3 || !info[2].IsNumber()) return Errno(info.Env(), EINVAL);
    const double seconds = info[2].As<Napi::Number>().DoubleValue();
    if (!(seconds >= 1 && seconds < UINT32_MAX)) return Errno(info.Env(), EINVAL);
    const double preferred = info.Length() > 3 && info[3].IsNumber() ? info[3].As<Napi::Number>().DoubleValue() : seconds;
    if (!(preferred >= 0 && preferred <= seconds)) return Errno(info.Env(), EINVAL);
    return Errno(info.Env(),
                 netlink_.AddAddress(link.index, address, static_cast<uint32_t>(seconds), static_cast<uint32_t>(preferred)));
  }

  // remove(interface, address): errno
  Napi::Value Remove(const Napi::CallbackInfo& info) {
    Link link;
    IpAddress address;
    int error = 0;
    if (!ReadTarget(info, &link, &address, &error)) return Errno(info.Env(), error);
    return Errno(info.Env(), netlink_.RemoveAddress(link.index, address));
  }

  // deafen(interface, address): errno
  Napi::Value Deafen(const Napi::CallbackInfo& info) {
    Link link;
    IpAddress address;
    int error = 0;
    if (!ReadTarget(info, &link, &address, &error)) return Errno(info.Env(), error);
    return Errno(info.Env(), netlink_.RemoveLocalRoute(link.index, address));
  }

  // announce(interface, address): errno. An interface that is no Ethernet has no neighbours to tell: nothing is sent.
  Napi::Value Announce(const Napi::CallbackInfo& info) {
    Link link;
    IpAddress address;
    int error = 0;
    if (!ReadTarget(info, &link, &address, &error) || !link.ethernet) return Errno(info.Env(), error);
    return Errno(info.Env(), announcer_.Announce(link.index, link.hardware, address));
  }

  // addresses(interface): [{address, prefix, validS}] | errno
  Napi::Value Addresses(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    if (info.Length() < 1 || !info[0].IsString()) return Errno(env, EINVAL);
    Link link;
    std::vector<HeldAddress> held;
    int error = netlink_.FindLink(info[0].As<Napi::String>(), &link);
    if (error == 0) error = netlink_.ListAddresses(link.index, &held);
    if (error != 0) return Errno(env, error);
    Napi::Array list = Napi::Array::New(env, held.size());
    for (uint32_t i = 0; i < held.size(); i++) {
      Napi::Object object = Napi::Object::New(env);
      object.Set("address", held[i].address.Text());
      object.Set("prefix", held[i].prefix);
      object.Set("validS", held[i].valid_seconds);
      list.Set(i, object);
    }
    return list;
  }

  // links(): [{index, name, up, carrier, ethernet, hardware}] | errno
  Napi::Value Links(const Napi::CallbackInfo& info) {
    Napi::Env env = info.Env();
    std::vector<Link> links;
    const int error = netlink_.ListLinks(&links);
    if (error != 0) return Errno(env, error);
    Napi::Array list = Napi::Array::New(env, links.size());
    for (uint32_t i = 0; i < links.size(); i++) list.Set(i, LinkObject(env, links[i]));
    return list;
  }

  // watch(listener): errno. One at a time; EBUSY for a second.
  Napi::Value StartWatch(const Napi::CallbackInfo& info) {
    if (info.Length() < 1 || !info[0].IsFunction()) return Errno(info.Env(), EINVAL);
    if (watch_) return Errno(info.Env(), EBUSY);
    int error = 0;
    watch_ = Watch::Open(info.Env(), info[0].As<Napi::Function>(), &error);
    return Errno(info.Env(), error);
  }

  // close(): ends the watch and closes every socket. Idempotent.
  Napi::Value CloseAll(const Napi::CallbackInfo& info) {
    if (watch_) watch_->Close();
    watch_.reset();
    netlink_.Close();
    announcer_.Close();
    return info.Env().Undefined();
  }

  Rtnetlink netlink_;
  Announcer announcer_;
  std::shared_ptr<Watch> watch_;
};

}  // namespace dsbc
