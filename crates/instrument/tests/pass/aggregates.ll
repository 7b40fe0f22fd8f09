; Padding is not touched.
; RUN early
; EXPECT call void @__footrace_read1(ptr %p)
; EXPECT getelementptr i8, ptr %p, i64 8
; EXPECT call void @__footrace_read8
; EXPECT load { i8, i64 }
; EXPECT call void @__footrace_write_range(ptr %q, i64 12)
; STAT 2 read checks
; STAT 1 write range checks
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define void @f(ptr %p, ptr %q) {
  %a = load { i8, i64 }, ptr %p, align 8
  store [3 x i32] zeroinitializer, ptr %q, align 4
  ret void
}
