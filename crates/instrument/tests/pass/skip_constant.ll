; RUN early
; NEVER call void @__footrace_read4(ptr @fixed)
; EXPECT call void @__footrace_read4(ptr @changing)
; STAT 3 skipped: constant memory
; STAT 1 read checks
@fixed = constant i32 7
@table = private constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@changing = global i32 7

define i32 @f(ptr %vtable, i64 %i) {
  %a = load i32, ptr @fixed, align 4
  %at = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  %b = load i32, ptr %at, align 4
  %c = load ptr, ptr %vtable, align 8, !invariant.load !0
  %d = load i32, ptr @changing, align 4
  ret i32 %d
}
!0 = !{}
