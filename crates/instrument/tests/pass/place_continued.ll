; Two loops that are one walk, of which some rounds read the limit again, are one loop again: what it walks through is one range.
; RUN early
; PLACEMENT bigfoot
; NEVER volatile
; EXPECT define void @walk
; EXPECT inner.latch:
; EXPECT call void @__footrace_read_range(ptr
; EXPECT define void @rows
; COUNT 1 inner.latch:
define void @walk(ptr noalias %a, ptr noalias %limit, i64 %n) sanitize_thread {
entry:
  br label %outer
outer:
  %from = phi i64 [ 0, %entry ], [ %again, %found ]
  %end = load i64, ptr %limit, align 8
  br label %inner
inner:
  %i = phi i64 [ %from, %outer ], [ %next, %more ]
  %p = getelementptr inbounds i64, ptr %a, i64 %i
  %v = load i64, ptr %p, align 8
  %hit = icmp eq i64 %v, %end
  br i1 %hit, label %found, label %more
more:
  %next = add nuw nsw i64 %i, 1
  %last = icmp slt i64 %next, %n
  br i1 %last, label %inner, label %done
found:
  store i64 0, ptr %limit, align 8
  %again = add nuw nsw i64 %i, 1
  %on = icmp slt i64 %again, %n
  br i1 %on, label %outer, label %done
done:
  ret void
}

; Each round of the outer loop begins anew.
define void @rows(ptr noalias %a, i64 %n, i64 %m) sanitize_thread {
entry:
  br label %outer
outer:
  %row = phi i64 [ 0, %entry ], [ %below, %end ]
  br label %inner
inner:
  %i = phi i64 [ %row, %outer ], [ %next, %inner ]
  %p = getelementptr inbounds i64, ptr %a, i64 %i
  store i64 1, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %last = icmp slt i64 %next, %n
  br i1 %last, label %inner, label %end
end:
  %below = add nuw nsw i64 %row, 1
  %on = icmp slt i64 %below, %m
  br i1 %on, label %outer, label %done
done:
  ret void
}
