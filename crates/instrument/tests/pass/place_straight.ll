; Straight code: a check waits for the end or for a deadline, one for all accesses to a place.
; RUN early
; PLACEMENT bigfoot
; EXPECT define void @once
; EXPECT store i32 2
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT ret void
; EXPECT define void @fields
; EXPECT %b = load
; EXPECT call void @__footrace_read16(ptr
; EXPECT define void @acquire
; EXPECT store i32 1
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT call void @__footrace_atomic_begin(ptr %q
; EXPECT load atomic
; EXPECT call void @__footrace_atomic_end(ptr %q
; EXPECT load i32, ptr %r
; EXPECT call void @__footrace_read4(ptr %r)
; EXPECT define void @release
; EXPECT store i32 1, ptr %p
; EXPECT store atomic
; EXPECT store i32 2, ptr %p
; EXPECT call void @__footrace_write4(ptr %p)
; EXPECT define void @copies
; EXPECT call void @llvm.memcpy
; EXPECT call void @__footrace_write_range(ptr %p
; EXPECT call void @__footrace_read_range(ptr %q
; EXPECT ret void
; COUNT 3 call void @__footrace_write4
; COUNT 1 call void @__footrace_read4
; STAT 3 write checks
; STAT 2 read checks
; STAT 1 read range checks
; STAT 1 write range checks
; STAT 2 atomic operations
; STAT 11 accesses placed
; STAT 1 accesses covered by a later check
; STAT 2 checks of several accesses
; STAT 5 functions analysed
define void @once(ptr %p) {
  %a = load i32, ptr %p, align 4
  store i32 1, ptr %p, align 4
  store i32 2, ptr %p, align 4
  ret void
}
define void @fields(ptr %p) {
  %a = load i64, ptr %p, align 8
  %q = getelementptr inbounds i8, ptr %p, i64 8
  %b = load i64, ptr %q, align 8
  ret void
}
define void @acquire(ptr %p, ptr %q, ptr %r) {
  store i32 1, ptr %p, align 4
  %a = load atomic i32, ptr %q acquire, align 4
  %b = load i32, ptr %r, align 4
  ret void
}
define void @release(ptr %p, ptr %q) {
  store i32 1, ptr %p, align 4
  store atomic i32 1, ptr %q release, align 4
  store i32 2, ptr %p, align 4
  ret void
}
define void @copies(ptr %p, ptr %q, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
