// expect: exception
const a = [];
a.length = -1;
