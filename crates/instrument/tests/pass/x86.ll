; RUN early
; EXPECT icmp slt <4 x i64> %m, zeroinitializer
; EXPECT call void @__footrace_read_masked(ptr %p, i32 8
; EXPECT call <4 x double> @llvm.x86.avx.maskload.pd.256
; EXPECT icmp slt <8 x i32> %k, zeroinitializer
; EXPECT call void @__footrace_write_masked(ptr %p, i32 4
; EXPECT call void @llvm.x86.avx2.maskstore.d.256
; EXPECT call void @__footrace_write_masked(ptr %p, i32 1
; EXPECT call void @llvm.x86.sse2.maskmov.dqu
; EXPECT call void @__footrace_read_unaligned16(ptr %p)
; EXPECT call <16 x i8> @llvm.x86.sse3.ldu.dq
; EXPECT define <8 x i32> @gather2
; EXPECT sext i32
; EXPECT mul i64
; EXPECT call void @__footrace_read_masked
; EXPECT call <8 x i32> @llvm.x86.avx2.gather.d.d.256
; EXPECT define void @scatter512
; EXPECT call void @__footrace_write_masked
; EXPECT call void @llvm.x86.avx512.mask.scatter.dpq.512
; STAT 17 read masked checks
; STAT 10 write masked checks
; STAT 1 read checks
define void @masks(ptr %p, <4 x i64> %m, <8 x i32> %k, <8 x i32> %v, <16 x i8> %b) {
  %a = call <4 x double> @llvm.x86.avx.maskload.pd.256(ptr %p, <4 x i64> %m)
  call void @llvm.x86.avx2.maskstore.d.256(ptr %p, <8 x i32> %k, <8 x i32> %v)
  call void @llvm.x86.sse2.maskmov.dqu(<16 x i8> %b, <16 x i8> %b, ptr %p)
  %c = call <16 x i8> @llvm.x86.sse3.ldu.dq(ptr %p)
  ret void
}

define <8 x i32> @gather2(ptr %p, <8 x i32> %i, <8 x i32> %k) {
  %a = call <8 x i32> @llvm.x86.avx2.gather.d.d.256(<8 x i32> zeroinitializer, ptr %p, <8 x i32> %i, <8 x i32> %k, i8 4)
  ret <8 x i32> %a
}

define <8 x i64> @gather512(ptr %p, <8 x i32> %i, <8 x i1> %k, <8 x i64> %x) {
  %a = call <8 x i64> @llvm.x86.avx512.mask.gather.dpq.512(<8 x i64> %x, ptr %p, <8 x i32> %i, <8 x i1> %k, i32 8)
  ret <8 x i64> %a
}

define void @scatter512(ptr %p, <8 x i32> %i, <8 x i1> %k, <8 x i64> %x) {
  call void @llvm.x86.avx512.mask.scatter.dpq.512(ptr %p, <8 x i1> %k, <8 x i32> %i, <8 x i64> %x, i32 8)
  ret void
}

declare <4 x double> @llvm.x86.avx.maskload.pd.256(ptr, <4 x i64>)
declare void @llvm.x86.avx2.maskstore.d.256(ptr, <8 x i32>, <8 x i32>)
declare void @llvm.x86.sse2.maskmov.dqu(<16 x i8>, <16 x i8>, ptr)
declare <16 x i8> @llvm.x86.sse3.ldu.dq(ptr)
declare <8 x i32> @llvm.x86.avx2.gather.d.d.256(<8 x i32>, ptr, <8 x i32>, <8 x i32>, i8)
declare <8 x i64> @llvm.x86.avx512.mask.gather.dpq.512(<8 x i64>, ptr, <8 x i32>, <8 x i1>, i32)
declare void @llvm.x86.avx512.mask.scatter.dpq.512(ptr, <8 x i1>, <8 x i32>, <8 x i64>, i32)
