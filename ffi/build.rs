//! How the shared library is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The number is the major part of `XCSH_ABI_VERSION`.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libxcsh_session.so.0");
        // Threads of the library can outlive its last handle, so dlclose() must leave its code where it is.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
