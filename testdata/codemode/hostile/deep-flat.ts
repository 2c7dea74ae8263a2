// expect: worker-exit timeout
let a: any = [];
for (let i = 0; i < 3e6; i++) a = [a];
return a.flat(Infinity).length;
