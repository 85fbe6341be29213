// Where the scanner writes what; plugin/message/scan/layout.ts says it in words, and a test keeps the two equal.
#pragma once

#include <cstdint>

namespace dsbc::layout {

enum Fault : int32_t {
  kNone = 0,
  kNoStartLine = 1,
  kRequestLine = 2,
  kStatusLine = 3,
  kBareLineEndInStart = 4,
  kBareLineEnd = 5,
  kNoName = 6,
  kCut = 7,
  kTooManyElements = 8,
};

enum Kind : int32_t { kKindNone = 0, kKindRequest = 1, kKindResponse = 2 };

enum Head : int32_t {
  kFault = 0,
  kKind = 1,
  kMethod = 2,
  kUri = 4,
  kVersion = 6,
  kStatus = 8,
  kBody = 9,
  kLines = 10,
  kElements = 11,
  kUriSplit = 12,
  kUriValid = 23,
  kUsed = 24,
  kFirst = 25,
  kHeadSize = 48,
};

enum Id : int32_t {
  kOther = 0,
  kVia = 1,
  kFrom = 2,
  kTo = 3,
  kContact = 4,
  kRoute = 5,
  kRecordRoute = 6,
  kPath = 7,
  kCallId = 8,
  kCseq = 9,
  kMaxForwards = 10,
  kExpires = 11,
  kContentLength = 12,
  kAuthorization = 13,
  kProxyAuthorization = 14,
  kRequire = 15,
  kSupported = 16,
  kProxyRequire = 17,
};

namespace line {
enum : int32_t { kId = 0, kName = 1, kValue = 3, kNext = 5, kSize = 6 };
}
namespace uri {
enum : int32_t { kSchemeEnd = 0, kUser = 1, kPassword = 3, kHost = 5, kPort = 7, kParams = 8, kHeaders = 10, kSize = 11 };
}
namespace address {
enum : int32_t {
  kFlags = 0,
  kText = 1,
  kDisplay = 3,
  kUri = 5,
  kParams = 7,
  kUriSplit = 9,
  kTag = 20,
  kExpires = 22,
  kQ = 24,
  kInstance = 26,
  kRegId = 28,
  kSize = 30,
};
}
namespace via {
enum : int32_t {
  kFlags = 0,
  kText = 1,
  kTransport = 3,
  kHost = 5,
  kPort = 7,
  kParams = 8,
  kBranch = 10,
  kReceived = 12,
  kRport = 14,
  kSize = 16,
};
}
namespace credentials {
enum : int32_t { kUsername = 0, kSize = 2 };
}

enum Flag : int32_t { kValid = 1, kStar = 2, kValidUri = 4 };

constexpr int32_t kMaxElements = 1024;

}  // namespace dsbc::layout
