// expect: exception timeout worker-exit
const o: any = { toJSON() { return JSON.stringify(o); } };
return JSON.stringify(o);
