// expect: worker-exit timeout
return new Array(1e8).join("xxxxxxxx").length;
