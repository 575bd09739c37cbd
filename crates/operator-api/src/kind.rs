//! A cluster-scoped kind of `config.openshift.io/v1`.

/// Defines the struct `$kind` with `metadata`, `spec` and `status`, which `kube::Api` and an informer can hold.
macro_rules! kind {
    ($(#[$doc:meta])* $kind:ident = $name:literal, $plural:literal { spec: $spec:ty, status: $status:ty $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $kind {
            /// `config.openshift.io/v1`
            pub api_version: String,
            #[doc = concat!("`", $name, "`")]
            pub kind: String,
            /// Its name and other metadata.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// The spec.
            pub spec: $spec,
            /// The status.
            #[serde(skip_serializing_if = "crate::is_empty")]
            pub status: $status,
        }

        impl Default for $kind {
            fn default() -> Self {
                Self {
                    api_version: <Self as kube::Resource>::api_version(&()).into_owned(),
                    kind: $name.to_owned(),
                    metadata: Default::default(),
                    spec: Default::default(),
                    status: Default::default(),
                }
            }
        }

        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = kube::core::ClusterResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $name.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                "config.openshift.io".into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
