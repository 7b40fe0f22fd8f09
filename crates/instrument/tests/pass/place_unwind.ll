; Exceptions: pending checks are made before a call that may pass one through, and on both ways of an invoke. A landing pad
; that several calls share is divided if only one of them comes with something to check.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @passes
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @may_throw
; EXPECT define void @handles
; EXPECT store i32 1
; EXPECT invoke void @only_throws
; EXPECT invoke void @only_throws
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT ret void
; EXPECT landingpad
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT landingpad
define void @only_throws() {
  call void @throws()
  ret void
}
define void @may_throw() {
  call void @throws()
  ret void
}
define void @passes(ptr %p) {
  store i32 1, ptr %p, align 4
  call void @may_throw()
  ret void
}
define void @handles(ptr %p, i1 %c) personality ptr @personality {
  br i1 %c, label %one, label %two
one:
  store i32 1, ptr %p, align 4
  store i32 2, ptr %p, align 4
  invoke void @only_throws() to label %end unwind label %pad
two:
  invoke void @only_throws() to label %end unwind label %pad
end:
  ret void
pad:
  %l = landingpad { ptr, i32 } cleanup
  call void @elsewhere()
  resume { ptr, i32 } %l
}
declare void @throws() nosync nofree willreturn
declare void @elsewhere()
declare i32 @personality(...)
