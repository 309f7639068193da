// Makes EJS templates at random and prints them with what EJS prints for them, as in ejs.json:
//   node random.js SEED COUNT     (in a folder where `npm install ejs@3.1.10` was done)
// ejs.json holds short ones of them that convert without a warning.
const ejs=require('ejs');
let seed=Number(process.argv[2]||1); const N=Number(process.argv[3]||300);
function rnd(){seed=(seed*1103515245+12345)&0x7fffffff;return seed/0x7fffffff}
const pick=a=>a[Math.floor(rnd()*a.length)];
const data={name:'user-profile',Name:'User-profile',yes:true,no:false,xs:['a','b','c'],none:[],one:['z'],n:2,o:{k:'v',w:2},fields:[{name:'id',type:'int'},{name:'e',type:null}],empty:''};
const words=['foo','  bar','const x = 1;','','}','@if(x)','@end','@Entity()','a {{ b }}','{{','}}','\\','`t`','${y}',"it's",'"q"','a  ','   ','@@each(a in b)','@{{ z }}','{','@','~','x ~','--}}','{{-- c --}}','@else'];
const exprs=['name','yes','xs','xs.length','n','o.k','fields[0].name','fields[1].type','o.nope',"yes ? 'p' : 'q'","no ? 'p' : null",'`${name}!`',"name.toUpperCase()",'xs.map(x => x + 1).join("-")','n + 1',"name || 'd'",'undefined'];
const conds=['yes','no','xs.length > 1','name === "user-profile"','!no','n == 2','none.length'];
function print(loc){const e=pick(loc.length&&rnd()<.5?loc:exprs);return pick(['<%= ','<%- '])+e+pick([' %>',' %>',' %>',' -%>'])}
function text(loc){let s='';const k=1+Math.floor(rnd()*3);for(let i=0;i<k;i++){s+=rnd()<.35?print(loc):pick(words)}return s}
function close(){return pick([' %>',' %>',' -%>',' -%>',' _%>'])}
function open(){return pick(['<% ','<% ','<% ','<%_ '])}
let vc=0;
function block(d,loc){ // returns string
  const n=1+Math.floor(rnd()*3);let s='';
  for(let i=0;i<n;i++) s+=item(d,loc);
  return s}
function nl(){return rnd()<.8?'\n':''}
function ind(){return pick(['','','','  ','    ','\t'])}
function item(d,loc){
  const r=rnd();
  if(d<=0||r<.45) return ind()+text(loc)+nl();
  if(r<.7){ // if
    let s=ind()+open()+`if (${pick(conds)}) {`+close()+nl()+block(d-1,loc);
    if(rnd()<.25) s+=ind()+open()+`} else if (${pick(conds)}) {`+close()+nl()+block(d-1,loc);
    if(rnd()<.4) s+=ind()+open()+'} else {'+close()+nl()+block(d-1,loc);
    return s+ind()+open()+'}'+close()+nl()}
  if(r<.88){ const v='v'+(vc++);const l=pick(['xs','none','one','fields.map(f => f.name)']);
    const k=pick([0,1,2,3]); let o,c,L=[v,v+".length"];
    if(k==0){o=`for (const ${v} of ${l}) {`;c='}'}
    else if(k==1){o=`${l}.forEach((${v}, i) => {`;c='})';L.push('i')}
    else if(k==2){o=`${l}.forEach(function (${v}) {`;c='});'}
    else {o=`for (let i = 0; i < n; i++) {`;c='}';L=['i','xs[i]']}
    // same indentation on both ends most of the time, to be expressible
    const id=ind(), op=open(), cl=close();
    return id+op+o+cl+nl()+block(d-1,loc.concat(L))+(rnd()<.8?id:ind())+op+c+cl+nl()}
  if(r<.94){const v='w'+(vc++);const e=pick(exprs);const s=ind()+open()+`const ${v} = ${e}`+close()+nl();return s+ind()+`<%= ${v} %>`+nl()}
  return ind()+'<%# a comment -%>'+nl();
}
const out=[];
for(let i=0;i<N;i++){vc=0;const t=block(3,[]);let r;try{r=ejs.render(t,{...data})}catch(e){r=null}
 if(r===null) continue; out.push({template:t,output:r})}
console.log(JSON.stringify({data,cases:out}));
