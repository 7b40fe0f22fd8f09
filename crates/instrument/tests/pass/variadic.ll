; RUN early
; EXPECT call void @__footrace_write_range(ptr %list, i64 24)
; EXPECT call void @llvm.va_start
; EXPECT call void @__footrace_write_range(ptr %other, i64 24)
; EXPECT call void @__footrace_read_range(ptr %list, i64 24)
; EXPECT call void @llvm.va_copy
; EXPECT call void @__footrace_write_range(ptr %list, i64 24)
; EXPECT va_arg
; STAT 3 write range checks
; STAT 1 read range checks
; STAT 1 skipped: covered by a write
define void @f(ptr %list, ptr %other, ...) {
  call void @llvm.va_start.p0(ptr %list)
  br label %next
next:
  call void @llvm.va_copy.p0(ptr %other, ptr %list)
  br label %last
last:
  %x = va_arg ptr %list, i32
  ret void
}
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_copy.p0(ptr, ptr)
