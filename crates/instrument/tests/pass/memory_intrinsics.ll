; RUN early
; EXPECT call void @__footrace_write_range(ptr %p, i64 %n)
; EXPECT call void @__footrace_read_range(ptr %q, i64 %n)
; EXPECT call void @llvm.memcpy.p0.p0.i64
; EXPECT call void @__footrace_write_range(ptr %p, i64 40)
; EXPECT call void @__footrace_read_range(ptr %q, i64 40)
; EXPECT call void @llvm.memmove
; EXPECT zext i32 %m to i64
; EXPECT call void @__footrace_write_range
; EXPECT call void @llvm.memset.p0.i32
; EXPECT call void @__footrace_write8(ptr %p)
; EXPECT call void @__footrace_read8(ptr %q)
; EXPECT call void @llvm.memcpy.inline
; EXPECT call void @__footrace_write_unaligned16(ptr %p)
; EXPECT call void @__footrace_read_unaligned16(ptr %q)
; EXPECT call void @llvm.memcpy.element.unordered.atomic
; EXPECT call void @__footrace_write_range(ptr %p, i64 7)
; EXPECT call void @llvm.memset.inline
; STAT 2 read checks
; STAT 2 write checks
; STAT 2 read range checks
; STAT 4 write range checks
define void @f(ptr %p, ptr %q, i64 %n, i32 %m) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 8 %p, ptr align 8 %q, i64 40, i1 false)
  call void @llvm.memset.p0.i32(ptr %p, i8 0, i32 %m, i1 true)
  call void @llvm.memcpy.inline.p0.p0.i64(ptr align 8 %p, ptr align 8 %q, i64 8, i1 false)
  call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 16, i32 4)
  call void @llvm.memset.inline.p0.i64(ptr %p, i8 1, i64 7, i1 false)
  ret void
}

; Nothing is copied: no check.
define void @nothing(ptr %p, ptr %q) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 0, i1 false)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.inline.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.inline.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)
