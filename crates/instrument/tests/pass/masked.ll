; RUN early
; EXPECT bitcast <8 x i1> %k to i8
; EXPECT zext i8
; EXPECT call void @__footrace_read_masked(ptr %p, i32 4, i64
; EXPECT call <8 x i32> @llvm.masked.load
; EXPECT call void @__footrace_write_masked(ptr %p, i32 4, i64
; EXPECT call void @llvm.masked.store
; EXPECT define void @wide
; EXPECT shufflevector <128 x i1>
; EXPECT call void @__footrace_write_masked(ptr %p, i32 1, i64
; EXPECT getelementptr i8, ptr %p, i64 64
; EXPECT call void @__footrace_write_masked
; EXPECT define <2 x i64> @scattered
; EXPECT extractelement <2 x ptr> %v, i32 0
; EXPECT extractelement <2 x i1> %k, i32 0
; EXPECT call void @__footrace_read_masked
; EXPECT extractelement <2 x ptr> %v, i32 1
; EXPECT call void @__footrace_read_masked
; EXPECT call <2 x i64> @llvm.masked.gather
; EXPECT call void @__footrace_write_unaligned8
; EXPECT call void @__footrace_write_unaligned8
; EXPECT call void @llvm.masked.scatter
; EXPECT define <8 x i32> @packed
; EXPECT call i8 @llvm.ctpop.i8
; EXPECT call void @__footrace_read_range(ptr %p
; EXPECT call void @__footrace_write_range(ptr %p
; COUNT 2 , 4
; STAT 3 read masked checks
; STAT 3 write masked checks
; STAT 1 read range checks
; STAT 2 write checks
; STAT 1 write range checks
define <8 x i32> @usual(ptr %p, <8 x i1> %k, <8 x i32> %v) {
  %a = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %p, <8 x i1> %k, <8 x i32> zeroinitializer)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v, ptr align 4 %p, <8 x i1> %k)
  ret <8 x i32> %a
}

; A call names 64 lanes.
define void @wide(ptr %p, <128 x i1> %k, <128 x i8> %v) {
  call void @llvm.masked.store.v128i8.p0(<128 x i8> %v, ptr align 1 %p, <128 x i1> %k)
  ret void
}

; Each lane has an address of its own; all lanes of the scatter are written.
define <2 x i64> @scattered(<2 x ptr> %v, <2 x i1> %k, <2 x i64> %x) {
  %a = call <2 x i64> @llvm.masked.gather.v2i64.v2p0(<2 x ptr> align 8 %v, <2 x i1> %k, <2 x i64> %x)
  call void @llvm.masked.scatter.v2i64.v2p0(<2 x i64> %x, <2 x ptr> align 8 %v, <2 x i1> <i1 true, i1 true>)
  ret <2 x i64> %a
}

define <8 x i32> @packed(ptr %p, <8 x i1> %k, <8 x i32> %v) {
  %a = call <8 x i32> @llvm.masked.expandload.v8i32(ptr %p, <8 x i1> %k, <8 x i32> %v)
  call void @llvm.masked.compressstore.v8i32(<8 x i32> %v, ptr %p, <8 x i1> %k)
  ret <8 x i32> %a
}

declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, <8 x i1>, <8 x i32>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)
declare void @llvm.masked.store.v128i8.p0(<128 x i8>, ptr, <128 x i1>)
declare <2 x i64> @llvm.masked.gather.v2i64.v2p0(<2 x ptr>, <2 x i1>, <2 x i64>)
declare void @llvm.masked.scatter.v2i64.v2p0(<2 x i64>, <2 x ptr>, <2 x i1>)
declare <8 x i32> @llvm.masked.expandload.v8i32(ptr, <8 x i1>, <8 x i32>)
declare void @llvm.masked.compressstore.v8i32(<8 x i32>, ptr, <8 x i1>)
