// expect: exception timeout worker-exit
const f = (): any => [1].map(f);
return f();
