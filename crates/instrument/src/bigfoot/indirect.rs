//! Calls through pointers: whom they may reach.
//!
//! # Contract
//!
//! If the module is the whole program ([`is_whole`]), every function pointer in it was made from a function whose address the module takes,
//! and a call reaches one of those that take such arguments: as many, each of the same kind. Results do not matter, nor do the
//! widths of integers: calls that get these wrong are wrong, but work. A call with another number of arguments is undefined in C, C++ and Rust, and is not
//! reckoned with. A variadic function may be reached by all calls, and a variadic call may reach all functions. In any other module, a call through a pointer
//! does everything.
use super::calls;
use crate::llvm::{Linkage, Module, TypeKind, Value};
use placement::Lin;
use placement::ir::{Call, Callee, Effects, FuncId, Function, Instr, Terminator};
use std::collections::BTreeMap;
use std::collections::HashMap;

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Passed {
    /// An integer or a pointer.
    Word,
    /// A floating-point number.
    Float,
    /// Anything else.
    Other,
}

/// What a call and its callee agree on; `None` if one of them is variadic.
type Shape = Option<Vec<Passed>>;

/// The functions that calls through pointers may reach. Each set is a function of the placement IR, which calls them all.
#[derive(Debug, Default)]
pub(super) struct Indirect {
    sets: BTreeMap<Shape, FuncId>,
    bodies: Vec<Function>,
}

impl Indirect {
    /// `first` is the number of the first set; `known` are the functions whose effects are computed.
    pub(super) fn new(module: Module, first: usize, known: &HashMap<Value, FuncId>) -> Indirect {
        let mut this = Indirect::default();
        if !is_whole(module) {
            return this;
        }
        let mut by_shape: BTreeMap<Shape, Vec<Value>> = BTreeMap::new();
        let taken = module.functions().into_iter().filter(is_taken);
        for function in taken {
            let of = by_shape.entry(shape(function.function_type())).or_default();
            of.push(function);
        }
        let variadic = by_shape.remove(&None).unwrap_or_default();
        let mut all = variadic.clone();
        for (shape, functions) in by_shape {
            all.extend(&functions);
            this.add(shape, first, functions.iter().chain(&variadic), known);
        }
        this.add(None, first, all.iter(), known);
        this
    }

    fn add<'a>(
        &mut self,
        shape: Shape,
        first: usize,
        functions: impl Iterator<Item = &'a Value>,
        known: &HashMap<Value, FuncId>,
    ) {
        let mut body = Function::default();
        let entry = body.block(Terminator::Return(Lin::from(0)));
        body.blocks[entry.index()].instrs = functions
            .map(|function| match known.get(function) {
                Some(known) => Callee::Known(*known),
                None if function.is_declaration() => {
                    Callee::External(calls::named(&function.name()).unwrap_or(Effects::UNKNOWN))
                }
                None => Callee::External(Effects::UNKNOWN),
            })
            .map(|callee| {
                Instr::Call(Call {
                    dst: None,
                    callee,
                    args: Vec::new(),
                })
            })
            .collect();
        let number = u32::try_from(first + self.bodies.len()).unwrap_or(u32::MAX);
        self.sets.insert(shape, FuncId(number));
        self.bodies.push(body);
    }

    /// The set that stands for the callee of a call through a pointer, if it is known.
    pub(super) fn reached(&self, call: Value) -> Option<FuncId> {
        let callee = call.callee()?;
        if !callee.is_instruction() && !callee.is_argument() {
            return None;
        }
        self.sets.get(&shape(call.called_type())).copied()
    }

    /// The sets, in the order of their numbers.
    pub(super) fn into_bodies(self) -> Vec<Function> {
        self.bodies
    }
}

fn shape(function: crate::llvm::Type) -> Shape {
    if function.is_variadic() {
        return None;
    }
    let passed = |kind| match kind {
        TypeKind::LLVMPointerTypeKind | TypeKind::LLVMIntegerTypeKind => Passed::Word,
        TypeKind::LLVMFloatTypeKind | TypeKind::LLVMDoubleTypeKind => Passed::Float,
        _ => Passed::Other,
    };
    let parameters = function.parameters().into_iter();
    Some(
        parameters
            .map(|parameter| passed(parameter.kind()))
            .collect(),
    )
}

/// Is the function used for anything but being called?
fn is_taken(function: &Value) -> bool {
    function
        .users()
        .any(|user| user.callee() != Some(*function) || user.arguments().contains(function))
}

/// Is there nobody else who could bring a function pointer? Whoever is called from here is known to hand none out, and who
/// calls in from outside passes none: nothing but `main` has a name there.
fn is_whole(module: Module) -> bool {
    let is_known = |name: &str| {
        name.starts_with("llvm.")
            || name.starts_with(crate::PREFIX)
            || calls::named(name).is_some()
            || listed(name)
    };
    let closed = |function: &Value| {
        let name = function.name();
        if function.is_declaration() {
            is_known(&name) || maps_data(function, &name) || function.users().next().is_none()
        } else {
            function.is_local() || name == "main" || name.starts_with(crate::PREFIX)
        }
    };
    let owned = |variable: &Value| {
        variable.is_local()
            || variable.linkage() == Linkage::LLVMAppendingLinkage
            || VARIABLES
                .split_whitespace()
                .any(|known| known == variable.name())
            // What describes types to the exceptions of C++; only its library looks into it.
            || variable.name().starts_with("_ZTVN10__cxxabiv1")
    };
    module.assembly().is_empty()
        && !module.has_other_names()
        && module.functions().iter().all(closed)
        && module.globals().iter().all(owned)
        && module.functions().iter().all(|function| {
            let blocks = function.blocks().into_iter();
            !blocks
                .flat_map(|block| block.instructions())
                .any(names_functions)
        })
}

/// The bit of `mmap`'s third argument that lets memory be executed.
const EXECUTABLE: u64 = 4;

/// `mmap` that is not asked for memory in which code could be made.
fn maps_data(function: &Value, name: &str) -> bool {
    matches!(name, "mmap" | "mmap64")
        && !is_taken(function)
        && function.users().all(|call| {
            let access = call.arguments().get(2).and_then(|access| access.as_u64());
            access.is_some_and(|access| access & EXECUTABLE == 0)
        })
}

/// Assembly that could make or fetch the address of a function: it jumps, or names something.
fn names_functions(instruction: Value) -> bool {
    instruction.callee().is_some_and(|callee| {
        callee.is_inline_asm() && callee.assembly().split([';', '\n']).any(names_something)
    })
}

fn names_something(statement: &str) -> bool {
    let mut words = statement
        .split(|c: char| c.is_whitespace() || ",()".contains(c))
        .filter(|word| !["", "lock", "rep", "repe", "repne"].contains(word));
    let jumps = |word: &str| {
        ["call", "jmp", "lea"]
            .iter()
            .any(|with| word.starts_with(with))
    };
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || "_.".contains(c));
    words.next().is_some_and(jumps)
        || words.any(|word| {
            is_name(word.trim_start_matches(['$', '*']))
                || word.contains('@')
                || word.contains("rip")
        })
}

/// Functions of libc that give nobody a pointer to a function, but what they were given.
fn listed(name: &str) -> bool {
    let prefixes = [
        "pthread_",
        "sem_",
        "sig",
        "__sig",
        "epoll_",
        "sched_",
        "__isoc99_",
        "__isoc23_",
    ];
    FUNCTIONS.split_whitespace().any(|known| known == name)
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

const VARIABLES: &str = "stdin stdout stderr environ __environ optarg optind opterr optopt timezone daylight tzname \
    program_invocation_name program_invocation_short_name __dso_handle __stack_chk_guard";

const FUNCTIONS: &str = "free cfree realloc reallocarray malloc_usable_size _Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv _ZdaPvm \
    printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf dprintf asprintf vasprintf scanf fscanf sscanf \
    puts fputs putchar putc fputc getc fgetc getchar ungetc fgets getline getdelim perror fopen fopen64 fdopen freopen fclose fflush fread fwrite \
    fseek fseeko fseeko64 ftell ftello ftello64 rewind feof ferror clearerr fileno setvbuf setbuf remove rename tmpfile tmpfile64 mkstemp mkstemp64 mkdtemp popen pclose \
    putchar_unlocked putc_unlocked getc_unlocked fwrite_unlocked fread_unlocked flockfile funlockfile \
    open open64 openat openat64 creat creat64 close read write pread pread64 pwrite pwrite64 readv writev lseek lseek64 fsync fdatasync ftruncate ftruncate64 truncate \
    stat stat64 fstat fstat64 lstat lstat64 fstatat fstatat64 access faccessat chmod fchmod chown fchown fchownat lchown umask link unlink unlinkat symlink readlink rmdir mkdir chdir getcwd realpath \
    utime utimes utimensat futimens futimes dup dup2 dup3 pipe pipe2 fcntl fcntl64 ioctl isatty ttyname opendir fdopendir readdir readdir64 closedir dirfd flock lockf posix_fadvise posix_fadvise64 posix_fallocate posix_fallocate64 fallocate fallocate64 \
    munmap madvise msync mremap shm_open shm_unlink getpagesize sysconf getrlimit setrlimit getrusage \
    poll ppoll select socket socketpair bind listen accept accept4 connect send sendto sendmsg recv recvfrom recvmsg shutdown setsockopt getsockopt getsockname getpeername getaddrinfo freeaddrinfo gai_strerror inet_ntop inet_pton htons htonl ntohs ntohl \
    eventfd timerfd_create timerfd_settime \
    exit _exit _Exit abort atexit __cxa_atexit raise kill getpid getppid gettid getuid geteuid getgid getegid setuid setgid getenv setenv unsetenv putenv getopt getopt_long \
    nanosleep usleep sleep clock_nanosleep clock_getres alarm setitimer localtime localtime_r gmtime gmtime_r mktime timegm strftime ctime ctime_r asctime difftime tzset times \
    rand srand rand_r random srandom drand48 lrand48 srand48 erand48 getrandom getentropy qsort bsearch lfind lsearch \
    strerror strerror_r __xpg_strerror_r strsignal strtok strtok_r strcoll strxfrm strsep strlcpy strlcat memccpy strtold strtoimax strtoumax wcslen mbstowcs wcstombs mbrtowc wcwidth mbsinit mbrlen btowc \
    setlocale nl_langinfo bindtextdomain textdomain gettext dcgettext dgettext ngettext localeconv isatty uname gethostname get_nprocs \
    setjmp _setjmp longjmp syscall fork vfork waitpid wait execv execvp execve getpwuid getpwnam getgrgid getgrnam getgrouplist initgroups setgroups \
    __assert_fail __stack_chk_fail __vfprintf_chk __fprintf_chk __printf_chk __snprintf_chk __sprintf_chk __memcpy_chk __strcpy_chk __gxx_personality_v0 __cxa_pure_virtual _ZSt9terminatev \
    _Unwind_Resume __tls_get_addr __errno_location thrd_create thrd_join thrd_exit mtx_init mtx_lock mtx_unlock mtx_trylock mtx_destroy cnd_init cnd_wait cnd_signal cnd_broadcast cnd_destroy call_once \
    makecontext swapcontext getcontext setcontext";
