; Hot checks for hot.ll.
target triple = "x86_64-unknown-linux-gnu"

define void @__footrace_read4(ptr %p) noinline {
  %own = call ptr @__footrace_own()
  %epoch = load i64, ptr %own, align 8
  %a = ptrtoint ptr %p to i64
  %c = icmp eq i64 %a, %epoch
  br i1 %c, label %quick, label %slow
slow:
  call void @__footrace_read4_slow(ptr %p)
  br label %quick
quick:
  ret void
}
declare ptr @__footrace_own()
declare void @__footrace_read4_slow(ptr) nonlazybind
