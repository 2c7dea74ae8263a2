// expect: timeout worker-exit
function* g() { for (;;) yield 1; }
return [...g()].length;
