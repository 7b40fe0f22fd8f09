; Calls through pointers in a module that is the whole program: by the type of the callee.
; RUN early
; PLACEMENT bigfoot
; EXPECT define i32 @main
; EXPECT define internal void @harmless
; EXPECT call i32 %f(ptr %p, i64 1)
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT define internal void @locks
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call i32 %f(ptr %m)
; EXPECT define internal void @other_result
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void %f(ptr %m)
; EXPECT define internal void @variadic
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call i32 (ptr, ...) %f(ptr %m)
; EXPECT define internal void @nobody
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call i32 %f(double
@table = internal global [3 x ptr] [ptr @adds, ptr @takes, ptr @memset]

define i32 @main() {
  %a = load ptr, ptr @table
  call void @harmless(ptr @table, ptr %a)
  call void @locks(ptr @table, ptr %a, ptr %a)
  call void @other_result(ptr @table, ptr %a, ptr %a)
  call void @variadic(ptr @table, ptr %a, ptr %a)
  call void @nobody(ptr @table, ptr %a)
  ret i32 0
}
define internal void @harmless(ptr %p, ptr %f) {
  store i32 1, ptr %p, align 4
  %r = call i32 %f(ptr %p, i64 1)
  ret void
}
define internal void @locks(ptr %p, ptr %f, ptr %m) {
  store i32 1, ptr %p, align 4
  %r = call i32 %f(ptr %m)
  ret void
}
define internal void @other_result(ptr %p, ptr %f, ptr %m) {
  store i32 1, ptr %p, align 4
  call void %f(ptr %m)
  ret void
}
define internal void @variadic(ptr %p, ptr %f, ptr %m) {
  store i32 1, ptr %p, align 4
  %r = call i32 (ptr, ...) %f(ptr %m)
  ret void
}
define internal void @nobody(ptr %p, ptr %f) {
  store i32 1, ptr %p, align 4
  %r = call i32 %f(double 1.0)
  ret void
}
define internal i32 @adds(ptr %p, i64 %by) {
  ret i32 1
}
define internal i32 @takes(ptr %m) {
  %r = call i32 @pthread_mutex_lock(ptr %m)
  ret i32 %r
}
declare i32 @pthread_mutex_lock(ptr)
declare ptr @memset(ptr, i32, i64)
