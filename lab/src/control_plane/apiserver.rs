//! The flags of the API server.

use super::{ControlPlane, Place, Purpose};

pub(super) fn args(plane: &ControlPlane, place: Place) -> Vec<String> {
    let pki = |file: &str| plane.pki(file).display().to_string();
    let mut args = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", place.etcd),
        format!("--secure-port={}", place.apiserver),
        format!("--bind-address={}", place.address),
        format!("--advertise-address={}", place.address),
        "--endpoint-reconciler-type=none".into(),
        "--authorization-mode=Node,RBAC".into(),
        format!("--service-cluster-ip-range={}", place.services()),
        format!("--client-ca-file={}", pki("ca.crt")),
        format!("--tls-cert-file={}", pki("apiserver.crt")),
        format!("--tls-private-key-file={}", pki("apiserver.key")),
        format!("--service-account-key-file={}", pki("sa.pub")),
        format!("--service-account-signing-key-file={}", pki("sa.key")),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--requestheader-client-ca-file={}", pki("front-proxy-ca.crt")),
        "--requestheader-allowed-names=front-proxy-client".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        format!(
            "--audit-policy-file={}",
            plane.folder.join("audit-policy.yaml").display()
        ),
        format!("--audit-log-path={}", plane.audit_log().display()),
        "--audit-log-mode=blocking".into(),
        "--max-requests-inflight=2000".into(),
        "--max-mutating-requests-inflight=1000".into(),
    ];
    args.extend(match place.purpose() {
        // The controller manager would create the default ServiceAccount of a namespace.
        Purpose::Api => vec!["--disable-admission-plugins=ServiceAccount".to_owned()],
        Purpose::Nodes => vec![
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            "--allow-privileged".to_owned(),
            format!("--kubelet-client-certificate={}", pki("admin.crt")),
            format!("--kubelet-client-key={}", pki("admin.key")),
        ],
    });
    args
}
