// expect: exception timeout worker-exit
let f: any = () => 1;
for (let i = 0; i < 3e6; i++) f = f.bind(null);
return f();
