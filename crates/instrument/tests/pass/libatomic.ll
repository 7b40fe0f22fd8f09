; Atomic operations that are calls.
; RUN early
; EXPECT call void @__footrace_atomic_begin(ptr %p, i32 16, i32 0, i32 2)
; EXPECT call i128 @__atomic_load_16
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 16, i32 0, i32 2)
; EXPECT call i128 @__atomic_fetch_add_16
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 16, i32 2, i32 4)
; EXPECT call i1 @__atomic_compare_exchange_16
; EXPECT , i32 2, i32 0
; EXPECT , i32 5, i32 2
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 16, i32 %
; EXPECT call void @__footrace_read_range(ptr %q, i64 24)
; EXPECT call void @__footrace_atomic_begin(ptr %p, i32 24, i32 1, i32 3)
; EXPECT call void @__atomic_store
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 24, i32 1, i32 3)
; EXPECT call void @__footrace_write_range(ptr %q, i64 24)
; EXPECT call void @__atomic_load(i64
; EXPECT call void @__footrace_atomic_end(ptr %p, i32 24, i32 0, i32 5)
; STAT 5 atomic operations
; STAT 1 read range checks
; STAT 1 write range checks
define void @f(ptr %p, ptr %q, i128 %x) {
  %expected = alloca i128, align 16
  %a = call i128 @__atomic_load_16(ptr %p, i32 2)
  %b = call i128 @__atomic_fetch_add_16(ptr %p, i128 %x, i32 4)
  %c = call i1 @__atomic_compare_exchange_16(ptr %p, ptr %expected, i128 %x, i32 5, i32 2)
  call void @__atomic_store(i64 24, ptr %p, ptr %q, i32 3)
  call void @__atomic_load(i64 24, ptr %p, ptr %q, i32 5)
  call void @__atomic_unknown(ptr %p)
  ret void
}
declare i128 @__atomic_load_16(ptr, i32)
declare i128 @__atomic_fetch_add_16(ptr, i128, i32)
declare i1 @__atomic_compare_exchange_16(ptr, ptr, i128, i32, i32)
declare void @__atomic_store(i64, ptr, ptr, i32)
declare void @__atomic_load(i64, ptr, ptr, i32)
declare void @__atomic_unknown(ptr)
