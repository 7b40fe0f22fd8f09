; RUN early
; NEVER call void @__footrace_read4(ptr %private
; NEVER call void @__footrace_write4(ptr %private
; EXPECT call void @__footrace_write4(ptr %escaped1)
; EXPECT call void @__footrace_write4(ptr %escaped2)
; EXPECT call void @__footrace_write4(ptr %escaped3)
; EXPECT call void @__footrace_write4(ptr %escaped4)
; EXPECT define void @mixed
; EXPECT call void @__footrace_write4(ptr %either)
; STAT 6 write checks
; STAT 7 skipped: private stack slot
; STAT 1 write range checks
@global = global ptr null

define i32 @private(i1 %c) {
  %private1 = alloca i32, align 4
  %private2 = alloca [8 x i32], align 4
  call void @llvm.lifetime.start.p0(ptr %private1)
  store i32 1, ptr %private1, align 4
  %inner = getelementptr [8 x i32], ptr %private2, i64 0, i64 3
  call void @llvm.memset.p0.i64(ptr %private2, i8 0, i64 32, i1 false)
  store i32 2, ptr %inner, align 4
  %choice = select i1 %c, ptr %private1, ptr %inner
  %a = load i32, ptr %choice, align 4
  %same = icmp eq ptr %private1, %inner
  call void @borrows(ptr %private1)
  %through = call ptr @gives_back(ptr %private1)
  %n = atomicrmw add ptr %private1, i32 1 seq_cst
  ret i32 %a
}

define ptr @escaped() {
  %escaped1 = alloca i32, align 4
  %escaped2 = alloca i32, align 4
  %escaped3 = alloca i32, align 4
  %escaped4 = alloca i32, align 4
  store i32 1, ptr %escaped1, align 4
  store ptr %escaped1, ptr @global, align 8
  store i32 1, ptr %escaped2, align 4
  call void @keeps(ptr %escaped2)
  store i32 1, ptr %escaped3, align 4
  %number = ptrtoint ptr %escaped3 to i64
  store i32 1, ptr %escaped4, align 4
  %n = insertvalue { ptr, i32 } poison, ptr %escaped4, 0
  call void @llvm.memset.p0.i64(ptr %escaped4, i8 0, i64 3, i1 false)
  ret ptr null
}

; Private on one path only.
define void @mixed(i1 %c, ptr %p) {
  %slot = alloca i32, align 4
  %either = select i1 %c, ptr %slot, ptr %p
  store i32 1, ptr %either, align 4
  %a = load i32, ptr %slot, align 4
  store i32 %a, ptr %slot, align 4
  call void @compares(ptr %slot)
  ret void
}

declare void @borrows(ptr captures(none))
declare ptr @gives_back(ptr captures(ret: address, provenance))
declare void @keeps(ptr)
declare void @compares(ptr captures(address))
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
