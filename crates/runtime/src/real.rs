//! The functions that ours stand in front of, and how ours are written.
//!
//! An interceptor is exported as `__interceptor_NAME`; the last step of the build renames it to `NAME`
//! after every other use of `NAME` in the runtime was renamed, so that the runtime never calls itself
//! through libc.

use core::ffi::{CStr, c_char, c_void};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::sys;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT`: the definition after the executable's.
const NEXT: *mut c_void = -1isize as *mut c_void;

/// A function of type `F` that libc (or another library) has under a name.
#[derive(Debug)]
pub struct Real<F> {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    kind: PhantomData<F>,
}

/// Functions of which libc keeps an older, incompatible version under the same name.
fn version(name: &CStr) -> Option<&'static CStr> {
    match name.to_bytes() {
        b"pthread_cond_wait"
        | b"pthread_cond_timedwait"
        | b"pthread_cond_signal"
        | b"pthread_cond_broadcast"
        | b"pthread_cond_init"
        | b"pthread_cond_destroy" => Some(c"GLIBC_2.3.2"),
        _ => None,
    }
}

impl<F: Copy> Real<F> {
    /// Not looked up yet.
    pub const fn new(name: &'static CStr) -> Self {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Real {
            name,
            address: AtomicPtr::new(core::ptr::null_mut()),
            kind: PhantomData,
        }
    }

    /// Looks the function up; false if nobody has it.
    pub fn resolve(&self) -> bool {
        let mut address = core::ptr::null_mut();
        if let Some(version) = version(self.name) {
            // SAFETY: both strings are NUL-terminated.
            address = unsafe { dlvsym(NEXT, self.name.as_ptr(), version.as_ptr()) };
        }
        if address.is_null() {
            // SAFETY: the name is NUL-terminated.
            address = unsafe { dlsym(NEXT, self.name.as_ptr()) };
        }
        self.address.store(address, Ordering::Release);
        !address.is_null()
    }

    /// Is the function known already?
    pub fn is_resolved(&self) -> bool {
        !self.address.load(Ordering::Acquire).is_null()
    }

    /// The function.
    #[inline]
    pub fn get(&self) -> F {
        let mut address = self.address.load(Ordering::Acquire);
        if address.is_null() {
            if !self.resolve() {
                self.missing();
            }
            address = self.address.load(Ordering::Acquire);
        }
        // SAFETY: `F` is the function pointer type of that name, as large as a pointer.
        unsafe { core::mem::transmute_copy(&address) }
    }

    #[cold]
    fn missing(&self) -> ! {
        sys::write_all(2, self.name.to_bytes());
        sys::die(": the program calls this function, but no library defines it")
    }
}

/// Defines functions that stand in front of libc's.
///
/// ```text
/// interceptors! {
///     fn name(argument: Type) -> Type = |real, pc| { … real(argument) … }
/// }
/// ```
///
/// `real` calls libc's function, `pc` is the address our function returns to.
macro_rules! interceptors {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? = |$real:ident, $pc:ident| $body:block)*) => {
        #[allow(non_upper_case_globals)]
        pub(crate) mod real {
            #[allow(unused_imports)]
            use super::*;
            $(pub(crate) static $name: $crate::real::Real<unsafe extern "C" fn($($type),*) $(-> $ret)?> =
                $crate::real::Real::new($crate::real::name!($name));)*
        }
        /// Looks up what stands behind this file's functions.
        pub(crate) fn resolve() {
            $(real::$name.resolve();)*
        }
        $(
            #[allow(non_snake_case, reason = "libc's names")]
            #[unsafe(export_name = concat!("__interceptor_", stringify!($name)))]
            unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
                #[allow(unused_variables)]
                let $pc = $crate::unwind::caller!();
                #[allow(unused_variables)]
                let $real = |$($arg: $type),*| {
                    // SAFETY: called as the program called us.
                    unsafe { (real::$name.get())($($arg),*) }
                };
                $body
            }
        )*
    };
}
pub(crate) use interceptors;

macro_rules! name {
    ($name:ident) => {
        match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name without NUL"),
        }
    };
}
pub(crate) use name;
