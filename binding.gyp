{
  "targets": [
    {
      "target_name": "dsbc",
      "sources": [
        "native/addon.cc",
        "native/sip_address.cc",
        "native/sip_header.cc",
        "native/sip_marks.cc",
        "native/sip_uri.cc"
      ],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": [
        "NAPI_VERSION=8",
        "NAPI_DISABLE_CPP_EXCEPTIONS",
        "NODE_ADDON_API_DISABLE_DEPRECATED"
      ],
      "cflags": ["-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"],
      "cflags_cc": ["-std=gnu++17", "-fno-exceptions", "-fno-rtti"],
      "cflags_cc!": ["-std=gnu++20"],
      "xcode_settings": {
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "GCC_ENABLE_CPP_EXCEPTIONS": "NO",
        "CLANG_CXX_LANGUAGE_STANDARD": "gnu++17"
      },
      "conditions": [
        ["target_arch=='x64'", {
          "cflags": ["-mssse3"],
          "xcode_settings": { "OTHER_CFLAGS": ["-mssse3"] }
        }],
        ["OS=='linux'", {
          "sources": ["native/rtnetlink.cc", "native/garp.cc", "native/udp_errors.cc"],
          "defines": ["DSBC_HAS_NETWORK"]
        }]
      ]
    }
  ]
}
