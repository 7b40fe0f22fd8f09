; RUN early
; EXPECT call void @__footrace_read1(ptr %p)
; EXPECT call void @__footrace_read2(ptr %p)
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT call void @__footrace_read8(ptr %p)
; EXPECT call void @__footrace_read16(ptr %p)
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT load float
; EXPECT call void @__footrace_read8(ptr %p)
; EXPECT load ptr
; EXPECT call void @__footrace_read4(ptr %p)
; EXPECT load volatile
; EXPECT define void @writes
; EXPECT call void @__footrace_write1(ptr %p)
; EXPECT store i1
; EXPECT call void @__footrace_write8(ptr %p)
; EXPECT store double
; EXPECT define void @odd
; EXPECT call void @__footrace_read_range(ptr %p, i64 3)
; EXPECT call void @__footrace_write_range(ptr %p, i64 10)
; EXPECT call void @__footrace_read_unaligned2(ptr %p)
; EXPECT call void @__footrace_read_unaligned4(ptr %p)
; EXPECT call void @__footrace_write_unaligned8(ptr %p)
; EXPECT call void @__footrace_write16(ptr %p)
; STAT 10 read checks
; STAT 4 write checks
; STAT 1 read range checks
; STAT 1 write range checks
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define void @reads(ptr %p) {
  %a = load i8, ptr %p, align 1
  %b = load i16, ptr %p, align 2
  %c = load i32, ptr %p, align 4
  %d = load i64, ptr %p, align 8
  %e = load i128, ptr %p, align 16
  %f = load float, ptr %p, align 4
  %g = load ptr, ptr %p, align 8
  %h = load volatile i32, ptr %p, align 4
  ret void
}

define void @writes(ptr %p) {
  store i1 true, ptr %p, align 1
  store double 0.0, ptr %p, align 8
  ret void
}

; No size of its own, or perhaps across two words.
define void @odd(ptr %p, x86_fp80 %x) {
  %a = load i24, ptr %p, align 4
  br label %2
2:
  store x86_fp80 %x, ptr %p, align 16
  br label %3
3:
  %b = load i16, ptr %p, align 1
  %c = load i32, ptr %p, align 2
  br label %4
4:
  store i64 0, ptr %p, align 4
  store i128 0, ptr %p, align 8
  ret void
}
