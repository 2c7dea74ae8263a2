// expect: exception worker-exit timeout
const o: any = { get a() { return this.a; } };
return o.a;
