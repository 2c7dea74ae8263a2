// expect: exception
const F = (() => {}).constructor as any;
return F("return process")().mainModule.require("fs");
