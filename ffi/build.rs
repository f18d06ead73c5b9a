//! Names the shared library for the loader. The number is that of `XCSH_ABI_VERSION`'s major part.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libxcsh_session.so.0");
    }
}
